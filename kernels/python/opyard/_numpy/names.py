"""Operators of aten that NumPy answers, by module; none is imported to know them."""

# The names are without overloads.
MODULES = {
    "attempts": """
        linalg_cholesky_ex linalg_inv_ex linalg_solve_ex
    """,
    "fft": """
        _fft_c2c _fft_c2r _fft_r2c fft_fft fft_fft2 fft_fftfreq fft_fftn fft_fftshift fft_hfft
        fft_hfft2 fft_hfftn fft_ifft fft_ifft2 fft_ifftn fft_ifftshift fft_ihfft fft_ihfft2
        fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftfreq fft_rfftn
    """,
    "linalg": """
        _linalg_eigh _linalg_eigvals _linalg_svd cholesky cholesky_inverse cholesky_solve det
        inverse linalg_cholesky linalg_det linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh
        linalg_inv linalg_matrix_rank linalg_pinv linalg_qr
        linalg_slogdet linalg_solve linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve
        logdet qr slogdet
    """,
    "order": """
        _unique2 argsort bincount bucketize isin msort searchsorted unique_consecutive
        unique_dim
    """,
    "pointwise": """
        fmax fmin frexp gcd heaviside lcm ldexp logaddexp2
        nan_to_num nextafter
    """,
    "reductions": """
        aminmax corrcoef count_nonzero cov cummax cummin cumprod kthvalue logcumsumexp median
        mode nanmean nanmedian nanquantile nansum quantile
    """,
    "shapes": """
        repeat_interleave
    """,
    "special": """
        erfinv i0 igamma igammac linalg_lu linalg_lu_factor linalg_matrix_exp
        linalg_solve_triangular matrix_exp mvlgamma polygamma special_airy_ai special_bessel_j0
        special_bessel_j1 special_bessel_y0 special_bessel_y1 special_chebyshev_polynomial_t
        special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w
        special_entr special_erfcx special_erfinv special_gammainc special_gammaincc
        special_hermite_polynomial_h special_hermite_polynomial_he special_i0 special_i0e special_i1
        special_i1e special_laguerre_polynomial_l special_legendre_polynomial_p special_log_ndtr
        special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0
        special_modified_bessel_k1 special_multigammaln special_ndtr special_ndtri special_polygamma
        special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1
        special_spherical_bessel_j0 special_xlog1py special_zeta
    """,
}
