from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracks", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="masks",
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
