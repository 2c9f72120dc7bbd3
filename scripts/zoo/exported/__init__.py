"""One module per exporter, run in that exporter's environment: `python -m zoo.exported.<name> <folder of the models>`."""
