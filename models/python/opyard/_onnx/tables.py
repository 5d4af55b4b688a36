"""Blocks of ONNX's operators by family. See blocks.py for their form."""

from .blocks import Table
from .table_activations import ACTIVATIONS
from .table_indexing import INDEXING
from .table_neural import NEURAL
from .table_pointwise import POINTWISE
from .table_products import PRODUCTS
from .table_reductions import REDUCTIONS
from .table_shapes import SHAPES

TABLES = Table(ACTIVATIONS, INDEXING, NEURAL, POINTWISE, PRODUCTS, REDUCTIONS, SHAPES)
