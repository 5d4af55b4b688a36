"""Blocks of ONNX's operators by family. See blocks.py for their form."""

from ..blocks import Table
from .activations import ACTIVATIONS
from .indexing import INDEXING
from .neural import NEURAL
from .pointwise import POINTWISE
from .products import PRODUCTS
from .reductions import REDUCTIONS
from .shapes import SHAPES

TABLES = Table(ACTIVATIONS, INDEXING, NEURAL, POINTWISE, PRODUCTS, REDUCTIONS, SHAPES)
