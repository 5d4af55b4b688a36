"""test_package.py: the modules of the package, and the names that people have of them.

Suspect opyard/_hooks.py, and the table `_LATE` of the module that is named.
"""

import importlib
import inspect
import pkgutil
import sys
from importlib.util import find_spec

import pytest

import opyard

pytestmark = pytest.mark.once

# A name that goes, goes from here and into CHANGELOG.md.
PUBLIC = {
    "opyard": """
        Generator Layout SymBool SymFloat SymInt Tag Tensor __version__ arange array_api autocast
        autograd bfloat16 capture_context cat complex128 complex64 device dispatch dtype empty
        enable_grad eye float16 float32 float64 from_dlpack from_numpy full futures
        get_num_threads gpu_trace inference_mode int16 int32 int64 int8 is_grad_enabled jit
        library load load_library loaded_libraries manual_seed memory nn no_grad ones ops
        optim profiler rand randn register_error remote save schema set_grad_enabled
        set_num_threads set_warn_always stack tensor testing uint8 uint16 uint32 uint64
        unload_library where zeros
    """,
    "opyard.torch": "Adopted Published adopt publish",
    "opyard.remote": """
        Origin Ref RemoteError RemoteTraceback Session SessionClosed WorkerLost all_reduce put rank
        session size
    """,
    "opyard.jax": "Published publish",
    "opyard.array_api": """
        __array_api_version__ __array_namespace_info__ abs acos acosh add all any arange argmax
        argmin argsort asarray asin asinh astype atan atan2 atanh bitwise_and bitwise_invert
        bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor bool broadcast_arrays
        broadcast_to can_cast ceil clip complex128 complex64 concat conj copysign cos cosh
        count_nonzero cumulative_prod cumulative_sum diff divide e empty empty_like equal exp
        expand_dims expm1 eye fft finfo flip float32 float64 floor floor_divide from_dlpack full
        full_like greater greater_equal hypot iinfo imag inf int16 int32 int64 int8 isdtype
        isfinite isinf isnan less less_equal linalg linspace log log10 log1p log2 logaddexp
        logical_and logical_not logical_or logical_xor matmul matrix_transpose max maximum mean
        meshgrid min minimum moveaxis multiply nan negative newaxis nextafter nonzero not_equal
        ones ones_like permute_dims pi positive pow prod real reciprocal remainder repeat
        reshape result_type roll round searchsorted sign signbit sin sinh sort sqrt square
        squeeze stack std subtract sum take take_along_axis tan tanh tensordot tile tril triu
        trunc uint8 uint16 uint32 uint64 unique_all unique_counts unique_inverse unique_values
        unstack var vecdot where zeros zeros_like
    """,
    "opyard.autograd": """
        CheckpointError Function FunctionCtx GradcheckError GradientError GradientTypeError Node
        RemovableHandle add_pullback backward check_formulas check_formulas_at_registration
        checkpoint checkpoint_sequential
        create_eval detect_anomaly enable_grad formulas forward_ad functional grad gradcheck
        gradgradcheck graph
        increment_version inference_mode is_grad_enabled is_inference_mode_enabled no_grad
        once_differentiable queue_callback set_grad_enabled
    """,
    "opyard.autograd.graph": """
        GradientEdge Node disable_saved_tensors_hooks get_gradient_edge increment_version
        register_multi_grad_hook save_on_cpu saved_tensors_hooks
    """,
    "opyard.autograd.forward_ad": """
        UnpackedDualTensor dual_level enter_dual_level exit_dual_level jvp make_dual unpack_dual
    """,
    "opyard.autograd.functional": """
        hessian hvp jacobian jvp vhp vjp
    """,
    "opyard.dispatch": """
        AutoDispatchBelowADInplaceOrView AutoDispatchBelowAutograd ComputedKernel DispatchKey
        DispatchKeySet DispatchMode
        DispatchLog ExcludeDispatchKeyGuard Explanation ForceDispatchKeyGuard
        HigherOrderOperator History IncludeDispatchKeyGuard LayerGap ModeKey
        PreserveDispatchKeyGuard PythonDispatcher RegistrationHandle RegistryEvent
        SetExcludeDispatchKeyGuard TableChange WhatIf alias_analysis check_invariants
        check_writes computed_kernel dangling disable_current_modes disabled_dispatch dump
        dump_table enable_python_dispatcher explain get_current_dispatch_mode
        get_current_dispatch_mode_stack get_mode has_computed_kernel has_fallback has_kernel
        has_kernel_for_any history is_fallthrough keys_of len_dispatch_mode_stack metadata
        no_dispatch no_python_dispatcher on_registration operator_names operators_at pop_mode
        pop_mode_temporarily provenance push_mode register_backend register_layer rename_backend
        resolve_key set_dispatch_log set_report_error_callback skip tls_is_dispatch_key_excluded
        tls_is_dispatch_key_included tls_local_exclude_set tls_local_include_set
        tls_set_dispatch_key_excluded tls_set_dispatch_key_included what_if would_dispatch
    """,
    "opyard.futures": """
        CancelledError Future collect_all collect_any from_concurrent wait_all
    """,
    "opyard.gpu_trace": """
        CallbackRegistry register_callback_for_device_synchronization
        register_callback_for_event_creation register_callback_for_event_deletion
        register_callback_for_event_record register_callback_for_event_synchronization
        register_callback_for_event_wait register_callback_for_memory_allocation
        register_callback_for_memory_deallocation register_callback_for_stream_creation
        register_callback_for_stream_synchronization
    """,
    "opyard.jit": """
        Block Code CompileWarning CompiledFunction Graph GraphBuilder InstructionTime
        InterpreterState Model Node StageLifetimes TracedFunction TracerWarning
        TracingCheckError Value compile create_python_op from_exported lifetimes load
        parse_expression parse_ir parse_ir_with_names passes save times trace
    """,
    "opyard.profiler": """
        ProfilerAction ProfilerActivity RecordScope active active_observers
        active_recorder active_sample flight_recorder observe profile record_function
        sample schedule show_instances stop_active tensorboard_trace_handler watch_future
    """,
    "opyard.library": """
        CFunction CustomOpDef EffectType Library OpCheckError c_prototype composite custom_op define
        effect_of fallthrough_kernel get_ctx impl infer_schema load_library load_operators
        load_plugins loaded_libraries opcheck override register_autocast register_autograd
        register_effect register_fake register_kernel register_opyard_dispatch register_vmap
        scoped_library unload_library
    """,
    "opyard.memory": """
        empty_cache stats
    """,
    "opyard.nn": """
        AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d
        AdaptiveMaxPool2d AdaptiveMaxPool3d AlphaDropout AvgPool1d AvgPool2d AvgPool3d
        BCELoss BCEWithLogitsLoss BatchNorm1d BatchNorm2d BatchNorm3d Bilinear CELU
        ChannelShuffle CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d
        ConstantPad3d Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d
        CosineEmbeddingLoss CosineSimilarity CrossEntropyLoss Dropout Dropout1d Dropout2d
        Dropout3d ELU Embedding EmbeddingBag FeatureAlphaDropout Flatten Fold GELU GLU GRU
        GRUCell GaussianNLLLoss GroupNorm Hardshrink Hardsigmoid Hardswish Hardtanh
        HingeEmbeddingLoss HuberLoss Identity InstanceNorm1d InstanceNorm2d InstanceNorm3d
        KLDivLoss L1Loss LPPool1d LPPool2d LPPool3d LSTM LSTMCell LayerNorm LeakyReLU Linear
        LocalResponseNorm LogSigmoid LogSoftmax MSELoss MarginRankingLoss MaxPool1d
        MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d Mish Module ModuleDict
        ModuleList MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss
        MultiheadAttention NLLLoss PReLU PairwiseDistance Parameter ParameterDict
        ParameterList PixelShuffle PixelUnshuffle PoissonNLLLoss RMSNorm RNN RNNCell RReLU
        ReLU ReLU6 ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d
        ReplicationPad2d ReplicationPad3d SELU Sequential SiLU Sigmoid SmoothL1Loss
        SoftMarginLoss Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh
        Tanhshrink Threshold Transformer TransformerDecoder TransformerDecoderLayer
        TransformerEncoder TransformerEncoderLayer TripletMarginLoss
        TripletMarginWithDistanceLoss Unflatten Unfold Upsample UpsamplingBilinear2d
        UpsamplingNearest2d ZeroPad1d ZeroPad2d ZeroPad3d functional init
        utils
    """,
    "opyard.nn.functional": """
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d
        adaptive_max_pool2d adaptive_max_pool3d alpha_dropout avg_pool1d avg_pool2d
        avg_pool3d batch_norm bilinear binary_cross_entropy
        binary_cross_entropy_with_logits celu celu_ channel_shuffle conv1d conv2d conv3d
        conv_transpose1d conv_transpose2d conv_transpose3d cosine_embedding_loss
        cosine_similarity cross_entropy dropout dropout1d dropout2d dropout3d elu elu_
        embedding feature_alpha_dropout fold gaussian_nll_loss gelu glu grid_sample
        group_norm gumbel_softmax hardshrink hardsigmoid hardswish hardtanh hardtanh_
        hinge_embedding_loss huber_loss instance_norm interpolate kl_div l1_loss
        layer_norm leaky_relu leaky_relu_ linear local_response_norm log_softmax
        logsigmoid lp_pool1d lp_pool2d lp_pool3d margin_ranking_loss max_pool1d
        max_pool2d max_pool3d max_unpool1d max_unpool2d max_unpool3d mish mse_loss
        multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss nll_loss
        normalize one_hot pad pairwise_distance pdist pixel_shuffle pixel_unshuffle
        poisson_nll_loss prelu relu relu6 relu_ rms_norm rrelu rrelu_
        scaled_dot_product_attention selu selu_ sigmoid silu smooth_l1_loss
        soft_margin_loss softmax softmin softplus softshrink softsign tanh tanhshrink
        threshold threshold_ triplet_margin_loss triplet_margin_with_distance_loss
        unfold upsample upsample_bilinear upsample_nearest
    """,
    "opyard.nn.init": """
        calculate_gain constant_ dirac_ eye_ kaiming_normal_ kaiming_uniform_ normal_ ones_
        orthogonal_ sparse_ trunc_normal_ uniform_ xavier_normal_ xavier_uniform_ zeros_
    """,
    "opyard.nn.utils": """
        clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ get_total_norm
        parameters_to_vector vector_to_parameters
    """,
    "opyard.optim": """
        ASGD Adadelta Adafactor Adagrad Adam AdamW Adamax LBFGS Muon NAdam Optimizer RAdam
        RMSprop Rprop SGD lr_scheduler swa_utils
    """,
    "opyard.optim.lr_scheduler": """
        ChainedScheduler ConstantLR CosineAnnealingLR CosineAnnealingWarmRestarts CyclicLR
        ExponentialLR LRScheduler LambdaLR LinearLR MultiStepLR MultiplicativeLR OneCycleLR
        PolynomialLR ReduceLROnPlateau SequentialLR StepLR
    """,
    "opyard.optim.swa_utils": """
        AveragedModel SWALR get_ema_avg_fn get_ema_multi_avg_fn update_bn
    """,
    "opyard.schema": """
        AliasInfo Argument Schema Type parse
    """,
    "opyard.testing": """
        CallLog FileCheck LoggingMode LoggingTensor
    """,
}


def every_module():
    yield from (each.name for each in pkgutil.walk_packages(opyard.__path__, "opyard."))


# Modules that use a package which need not be there.
BESIDE = {"opyard._numpy.special": "scipy"}


def importable_modules():
    return [name for name in every_module() if find_spec(BESIDE.get(name, "opyard"))]


@pytest.mark.parametrize("name", sorted({*importable_modules()} - {"opyard.__main__"}))
def test_each_module_can_be_imported_first(name, run_program):
    """Late imports hide circles until the wrong module comes first."""
    ended = run_program(f"import {name}")
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("module", PUBLIC)
def test_the_public_names_are_the_ones_that_were_promised(module):
    found = importlib.import_module(module)
    assert sorted(found.__all__) == sorted(PUBLIC[module].split())
    for name in found.__all__:
        getattr(found, name)


def test_what_is_not_public_has_an_underscore():
    public = {name for name in every_module() if "._" not in name}
    assert {"opyard", *public} == set(PUBLIC)


def test_no_module_hides_a_public_name():
    """Importing a submodule sets it as an attribute of its package, whatever was there."""
    for name in importable_modules():
        importlib.import_module(name)
    for module in PUBLIC:
        for name in importlib.import_module(module).__all__:
            thing = getattr(sys.modules[module], name)
            # A module of a private room is shown under this name on purpose.
            assert (
                not inspect.ismodule(thing)
                or thing.__name__ in PUBLIC
                or thing.__name__.startswith("opyard._")
            )
