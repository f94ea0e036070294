"""The definitions of the measures, typeset on their pages; docstrings have them as plain text for ``help``.

Lines separated by an empty line stand below each other.
"""

from __future__ import annotations

__all__ = ["FORMULAS"]

FORMULAS = {
    "TOMA": r"""
        \delta(\ell) &= \Bigl(\sum_a \bigl(w_a \lvert x_a(\ell_a) - x_a(\mathrm{best}_a)\rvert\bigr)^p\Bigr)^{1/p}

        c(d) &= \#\{\delta' : \delta' > \delta(\ell(d))\}

        \mathrm{TOMA} &= \mu\bigl(c(d_1), c(d_2), \ldots\bigr)""",
    "CAM": r"\mathrm{CAM} = \sum_a p_a\,\mu_a, \qquad \sum_a p_a = 1",
    "MM": r"\mathrm{MM} = \frac{\sum_a p_a}{\sum_a p_a / \mu_a}",
    "WHAM": r"\mathrm{WHAM} = \frac{1}{p_1 / \mu_1 + p_2 / \mu_2}, \qquad p_1 + p_2 = 1",
    "GAM": r"\mathrm{GAM} = \prod_a \mu_a^{\,p_a}, \qquad \sum_a p_a = 1",
    "uRBP": r"""
        \mathrm{uRBP} &= (1 - p) \sum_{i} p^{\,i-1} \prod_a u_a(d_i)

        u_a(d) &= 1 \text{ if } \ell_a(d) \ge \mathrm{threshold}_a, \text{ else } 0""",
    "uRBPgr": r"\mathrm{uRBPgr} = (1 - p) \sum_{i} p^{\,i-1} \prod_a P_a(d_i)",
    "unDCG": r"""
        \mathrm{unDCG@}k &= \frac{\mathrm{uDCG@}k}{\max \mathrm{uDCG@}k}

        \mathrm{uDCG@}k &= \sum_{i \le k} \frac{2^{\,s P(d_i)} - 1}{\log_2(i + 1)}, \qquad P(d) = \prod_a P_a(d)""",
    "uERR": r"""
        \mathrm{uERR@}k &= \sum_{i \le k} \frac{R(d_i)}{i} \prod_{j < i} \bigl(1 - R(d_j)\bigr)

        R(d) &= \frac{2^{\,s P(d)} - 1}{2^{\,s P_{\max}}}, \qquad P(d) = \prod_a P_a(d)""",
    "NWCS": r"""
        \mathrm{NWCS} &= \frac{\mathrm{WCS}}{\mathrm{WCS}_{\mathrm{ideal}}}

        \mathrm{WCS} &= \sum_i \frac{\sum_a p_a Z_a(d_i)}{\log_2(1 + i)}""",
    "NLRE": r"""
        \mathrm{NLRE} &= 1 - \frac{\mathrm{LRE}}{C}

    \mathrm{LRE} &= \sum_i \frac{\prod_a \bigl(\mu_a + \varepsilon_a(i)\bigr) - \prod_a \mu_a}{\log_2(1 + i)}""",
    "NGRE": r"""
        \mathrm{NGRE} &= 1 - \frac{\mathrm{GRE}}{C}

        \mathrm{GRE} &= \prod_a \bigl(1 + \mu_a S_a\bigr) - 1

        S_a &= \sum_i \frac{\varepsilon_a(i)}{\log_2(1 + i)}""",
    "HelpfulCompat": r"""
        \mathrm{Compat} &= \frac{\mathrm{RBO}_p(R, I)}{\mathrm{RBO}_p(I, I)}

        \mathrm{RBO}_p(R, I) &= \sum_{i=1}^{1000} p^{\,i-1}\, \frac{\lvert R_{1..i} \cap I_{1..i} \rvert}{i}""",
    "HelpfulMinusHarmful": r"\mathrm{Compat}_{\mathrm{helpful}} - \mathrm{Compat}_{\mathrm{harmful}}",
    "CRP": r"""
        \mathrm{CRP@}k &= \sum_{i \le k} r(d_i)

        r(d_i) &= \min(0,\, i - \mathrm{first}_{d_i}) + \max(0,\, i - \mathrm{last}_{d_i})""",
    "nCRP": r"\mathrm{nCRP} = \min\Bigl(1,\; 1 + \frac{2\,\mathrm{CRP@}R}{R (R + 1)}\Bigr)",
    "CRPRecovery": r"\rho = \frac{R}{\min\{i \ge R : \mathrm{CRP@}i \ge 0\}}",
    "CG": r"\mathrm{CG@}k = \sum_{i \le k} g(d_i)",
    "DCG": r"\mathrm{DCG@}k = \sum_{i \le k} \frac{g(d_i)}{\log_2(i + 1)}",
    "G": r"""
        \mathrm{G} &= \frac{1}{\sum_d g(d)} \sum_i \frac{g(d_i)}{\log_2(2 + I_i - S_i)}

        I_i &= \sum_{j \le i} \max\bigl(1,\, g(d_j^{\mathrm{ideal}})\bigr), \qquad S_i = \sum_{j \le i} g(d_j)""",
    "ESL": r"\mathrm{ESL} = j + \frac{i\,s}{r + 1}",
    "RBU": r"""
        \mathrm{RBU} &= (1 - p) \sum_i p^{\,i-1}
        \Bigl(\sum_a w_a R_a(d_i) \prod_{j < i} \bigl(1 - R_a(d_j)\bigr) - e\Bigr)

        R_a(d) &= \frac{2^{\,g_a(d)} - 1}{2^{\,\max g_a}}""",
    "MDCU": r"""
        \mathrm{MDCU@}k &= \sum_{i \le k} \prod_a u_a(d_i) \sum_t v_t(i)

        v_t(i) &= \frac{r_t(d_i)}{\max\bigl(1, \log_b C_t(i - 1)\bigr)}, \qquad C_t(i) = \sum_{j \le i} v_t(j)""",
    "IRec": r"\mathrm{I\text{-}rec@}k = \frac{|\{a : \exists i \le k,\ d_i \text{ relevant on } a\}|}{n}",
    "DnDCG": r"\mathrm{D\text{-}nDCG@}k = \mathrm{nDCG@}k \text{ of the gains } \sum_a P(a)\, g_a(d)",
    "DSharpnDCG": r"\gamma\, \mathrm{I\text{-}rec} + (1 - \gamma)\, \mathrm{D\text{-}nDCG}",
    "MeanOf": r"\frac{\sum_m w_m\, m}{\sum_m w_m}",
    "Subtopics": r"""
        \alpha\text{-}\mathrm{DCG@}k \propto \sum_{i \le k} \frac{1}{\log_2(i + 1)}
        \sum_{s \in d_i} (1 - \alpha)^{\,n_s(i - 1)}""",
}
