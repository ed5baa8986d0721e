"""An oracle for benchmark items, written from the reference on GRASP alone.

It reads the printed question as a person would, looks at what is true on every frame of a simulated scene, and says of
every printed option whether it is true. It shares no code with the generator of questions: a test holds that it imports
nothing of it. What it cannot read it refuses loudly.
"""
