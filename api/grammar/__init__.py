"""Turns English text into prompts for the model, and the model's edit scripts into corrections with reasons.

Pure: this package knows neither HTTP nor Redis, and reads no clock. `pipeline.py` is its entry point.
"""
