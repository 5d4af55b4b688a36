"""ONNX files as models: opyard.jit.load("model.onnx"). See convert.py for the way of a file."""
