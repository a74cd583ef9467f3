"""Where methods, and those of grouping columns, were published."""

from __future__ import annotations

from collections.abc import Mapping

DF_TORRA = (
    "J. Domingo-Ferrer and V. Torra, *Ordinal, continuous and heterogeneous k-anonymity through "
    "microaggregation*, Data Mining and Knowledge Discovery 11(2), 195–212, 2005, "
    "doi:10.1007/s10618-005-0007-5"
)
V_MDAV = (
    "A. Solanas and A. Martínez-Ballesté, *V-MDAV: a multivariate microaggregation with variable "
    "group size*, 2006"
)
F_MDAV = (
    "A. Rodríguez-Hoyos, J. Estrada-Jiménez, D. Rebollo-Monedero, A. M. Mezher, J. Parra-Arnau and "
    "J. Forné, *The fast maximum distance to average vector (F-MDAV): an algorithm for k-anonymous "
    "microaggregation in big data*, Engineering Applications of Artificial Intelligence, 2020, "
    "doi:10.1016/j.engappai.2020.103531"
)
HANSEN = (
    "S. L. Hansen and S. Mukherjee, *A polynomial algorithm for optimal univariate "
    "microaggregation*, IEEE Transactions on Knowledge and Data Engineering 15(4), 1043–1044, "
    "2003, doi:10.1109/TKDE.2003.1209020"
)
LASZLO = (
    "M. Laszlo and S. Mukherjee, *Iterated local search for microaggregation*, Journal of Systems "
    "and Software 100, 15–26, 2015, doi:10.1016/j.jss.2014.10.012"
)
BIERMAN = (
    "Bierman, *Improvements to iterated local search for microaggregation*, dissertation, Nova "
    "Southeastern University, 2020"
)
DATA_ORIENTED = (
    "J. Domingo-Ferrer, A. Martínez-Ballesté, J. M. Mateo-Sanz and F. Sebé, *Efficient "
    "multivariate data-oriented microaggregation*, VLDB Journal 15(4), 355–369, 2006, "
    "doi:10.1007/s00778-006-0007-0"
)
MORTAZAVI = (
    "R. Mortazavi and S. Jalili, *A novel local search method for microaggregation*, The ISC "
    "International Journal of Information Security 7(1), 15–26, 2015, "
    "doi:10.22042/isecure.2015.7.1.3"
)
MAYA_LOPEZ = (
    "A. Maya-López, *Enhancing multivariate microaggregation using graph theory*, thesis; the "
    "tours also in A. Maya-López, F. Casino and A. Solanas, *Improving multivariate "
    "microaggregation through Hamiltonian paths and optimal univariate microaggregation*, Symmetry "
    "13(6), 916, 2021, doi:10.3390/sym13060916"
)
BALASCH = (
    "Balasch i Masoliver, *Using genetic algorithms for attribute grouping in multivariate "
    "microaggregation*, 2010"
)
PAPERS: Mapping[str, str] = {
    "mdav": DF_TORRA,
    "vmdav": V_MDAV,
    "fmdav": F_MDAV,
    **dict.fromkeys(("optimal", "mhm"), HANSEN),
    **dict.fromkeys(("ls", "ilsm"), LASZLO),
    **dict.fromkeys(("lsc", "ilsmc"), BIERMAN),
    **dict.fromkeys(("npn_mhm", "mdav_mhm"), DATA_ORIENTED),
    "icsm": MORTAZAVI,
    **dict.fromkeys(("gomm", "dgomm"), BALASCH),
    **dict.fromkeys(("tsp_mhm", "mdav_lk_mhm", "compress_tsp_mhm", "mf_tsp", "rcs"), MAYA_LOPEZ),
}
