"""An architecture of each module of timm, the smallest of a few, with random weights."""

import timm
import torch
from exported.case import Case

SOURCE = "timm"
VERSION = timm.__version__
SHORT = ("test_convnext", "test_efficientnet", "test_resnet", "test_vit", "test_nfnet")
# No pictures of their own size: those of attention in windows, and those with positions that are
# learnt, take the one of their configuration.
NAMES = """
beit_base_patch16_224 halonet_h1 test_byobnet cait_xxs24_224 coat_tiny convit_tiny convmixer_768_32
test_convnext cpubone_nano crossvit_tiny_240 csatv2 cs3darknet_focus_s cspnext_tiny davit_tiny
deit_tiny_patch16_224 densenet121 dla46_c dpn48b edgenext_xx_small efficientformer_l1
efficientformerv2_s0 test_efficientnet efficientvim_m1 efficientvit_b0 efficientvit_m0
vit_tiny_patch16_dinov3_qkvb fasternet_t0 fastvit_t8 focalnet_tiny_srf gcvit_xxtiny ghostnet_050
hardcorenas_b hgnetv2_b0 hiera_tiny_224 hrnet_w18_small iformer_t inception_next_atto
inception_resnet_v2 inception_v3 inception_v4 lcnetv2_small levit_128 lowformer_b0 test_mambaout
test_coatnet test_maxvit poolformer_s12 gmlp_ti16_224 mobilenetv3_small_050 mobilevit_xxs
mvitv2_tiny nest_tiny nextvit_small test_nfnet pit_ti_224 pvt_v2_b0 rdnet_tiny regnetx_004_tv
repghostnet_050 repvit_m1 res2next50 resnest14d test_resnet resnetv2_18 rexnet_100 selecsls42
legacy_seresnet18 sequencer2d_s shvit_s1 skresnet18 starnet_s050 swiftformer_xs
swin_tiny_patch4_window7_224 swinv2_tiny_window8_256 swinv2_cr_tiny_224 tiny_vit_5m_224
tnt_s_legacy_patch16_224 tresnet_m twins_svt_small vgg11 visformer_tiny test_vit
vit_tiny_r_s16_p8_224 test_vit_relpos vitamin_small_224 volo_d1_224 ese_vovnet19b_slim_dw
legacy_xception xception41p xcit_nano_12_p8_224 naflexvit_base_patch16_gap mobilenetv5_base
""".split()


def names() -> list[str]:
    return NAMES


def make(name: str) -> Case:
    module = timm.create_model(name).eval()
    return Case(module, (torch.randn(1, *module.default_cfg["input_size"]),))
