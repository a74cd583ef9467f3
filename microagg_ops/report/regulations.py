"""What regulators and standards ask, clause by clause, and which figures of a report answer it.

A clause has a number only where the numbering of that edition is known; else its topic names it.
What is asked is said in words of this project: the documents themselves decide.
"""

from __future__ import annotations

from dataclasses import dataclass

# Raised whenever a clause, or what answers it, changes.
VERSION = 1


@dataclass(frozen=True, slots=True)
class Answer:
    """A figure that answers a clause.

    Parameters
    ----------
    label
        Its name for people.
    path
        Where it is in the report; ``*`` stands for every entry of a list.
    unit
        share, percent, count, number or words; ``listed`` counts a list, and ``stated`` says
        whether there is a text, without repeating it.
    of
        min or max: which of several is taken.
    """

    label: str
    path: str
    unit: str
    of: str = ""


@dataclass(frozen=True, slots=True)
class Clause:
    """What a clause asks, what answers it, and what is left to others."""

    clause: str
    asks: str
    answers: tuple[Answer, ...]
    left: str


@dataclass(frozen=True, slots=True)
class Document:
    """A document with its edition; ``profile`` is the one of a release that follows it."""

    name: str
    title: str
    edition: str
    profile: str
    clauses: tuple[Clause, ...]


AFTER = "risk.after"
K = Answer("smallest class, k", f"{AFTER}.singling_out.k_joint", "count")
PROSECUTOR = Answer("prosecutor, highest", "risk.attackers.prosecutor", "share")
ON_AVERAGE = Answer("prosecutor, average", "risk.attackers.prosecutor_average", "share")
JOURNALIST = Answer("journalist, highest", "risk.attackers.journalist", "share")
JOURNALISTS = Answer("journalist, average", "risk.attackers.journalist_average", "share")
MARKETER = Answer("marketer, right links", "risk.attackers.marketer", "share")
BEFORE = Answer("highest risk before", "risk.before.highest", "share")
UNIQUE = Answer("unique rows", f"{AFTER}.singling_out.uniques", "count")
LINKED = Answer("rows linked by distance", f"{AFTER}.linkability.distance.percent", "percent")
RANKS = Answer("rows linked by ranks", f"{AFTER}.linkability.rank.percent", "percent")
DIVERSE = Answer("least l", f"{AFTER}.inference.sensitive.*.l", "count", "min")
CLOSE = Answer("largest t", f"{AFTER}.inference.sensitive.*.t", "number", "max")
NEAR = Answer("interval disclosure", f"{AFTER}.inference.interval.overall", "percent")
LOSS = Answer("information loss", "utility.information_loss", "percent")
CHECKS = Answer("checks on the bytes", "checks", "listed")
VERDICT = Answer("verdict", "verdict", "words")
LIMITS = Answer("thresholds set", "scenarios.thresholds", "listed")
METHOD = Answer("method", "method.aggregate", "words")
ENTITIES = Answer("entities", "data.entities", "count")
QUASI = Answer("quasi-identifiers", "roles.quasi", "listed")
DROPPED = Answer("columns dropped", "roles.dropped", "listed")
SENSITIVE = Answer("sensitive columns", f"{AFTER}.inference.sensitive", "listed")
PURPOSE = Answer("purpose", "purpose.purpose", "stated")
RECIPIENTS = Answer("recipients", "purpose.recipients", "stated")
KIND = Answer("kind of release", "purpose.kind", "words")
CONTEXT = Answer("context", "context.context", "stated")
THREATS = Answer("threat model", "context.threats", "stated")
SCENARIOS = Answer("scenarios", "scenarios.scenarios", "listed")
OWNER = Answer("owner", "identity.owner", "stated")
APPROVAL = Answer("person who decided", "publication.decided_by", "stated")
STATE = Answer("state", "publication.state", "words")
EARLIER = Answer("earlier runs compared", "series.earlier", "listed")

ISO = Document(
    "ISO/IEC 27559",
    "Privacy enhancing data de-identification framework",
    "ISO/IEC 27559:2022",
    "iso27559",
    (
        Clause(
            "6.2 Threat modelling",
            "Who might re-identify, by what means and why.",
            (THREATS, SCENARIOS, RECIPIENTS),
            "How well recipients guard the data.",
        ),
        Clause(
            "6.3 Transparency and impact assessment",
            "Tell those concerned, and weigh the harm that could be done.",
            (PURPOSE, CONTEXT),
            "The harm itself, and who was heard.",
        ),
        Clause(
            "7.2 Data features",
            "Know the people, the types of data and the roles of attributes.",
            (ENTITIES, QUASI, SENSITIVE, BEFORE),
            "Whether every column that an outsider could know is named.",
        ),
        Clause(
            "7.3.2 Maximum or average risk",
            "Choose between the person most at risk and the mean of all.",
            (PROSECUTOR, ON_AVERAGE),
            "Why one of the two fits this release.",
        ),
        Clause(
            "7.3.3 Population or sample-based attack",
            "Say whether the attacker knows who is in the table.",
            (JOURNALIST, JOURNALISTS, MARKETER),
            "Whether the sample was drawn as the release says.",
        ),
        Clause(
            "7.3.4 Data privacy models",
            "Name the model that limits the risk.",
            (K, DIVERSE, CLOSE),
            "Models beyond k, l and t.",
        ),
        Clause(
            "8.2.2 Quantifying identifiability",
            "Put a figure on how identifiable people are.",
            (PROSECUTOR, MARKETER, LIMITS),
            "How likely it is that somebody tries: it is taken to be certain.",
        ),
        Clause(
            "8.2.3 Adversarial testing",
            "Attack the data, and see.",
            (LINKED, RANKS, NEAR),
            "Tries by people with sources of their own.",
        ),
        Clause(
            "8.3 Mitigation",
            "Transform the data, and evaluate again.",
            (METHOD, LOSS, CHECKS, VERDICT),
            "Changes to the environment of the data.",
        ),
        Clause(
            "9.2 Before data are made available",
            "Assign roles, and have policies and procedures.",
            (OWNER, APPROVAL, STATE),
            "Policies and training, and what follows once data are out.",
        ),
    ),
)
EMA = Document(
    "EMA policy 0070",
    "External guidance on its implementation, chapter 3 on anonymisation",
    "EMA/90915/2016",
    "ema0070",
    (
        Clause(
            "Direct and quasi-identifiers",
            "Find what identifies people, by itself or with other knowledge.",
            (DROPPED, QUASI),
            "Identifiers in free text: sensitive columns are published as they are.",
        ),
        Clause(
            "Adversaries and attacks",
            "Name plausible adversaries and what they would try.",
            (THREATS, SCENARIOS),
            "Whether the list is complete.",
        ),
        Clause(
            "Three criteria of anonymisation",
            "Show that nobody is singled out, linked or inferred, or analyse the risk instead.",
            (K, LINKED, DIVERSE),
            "Links to tables that others hold.",
        ),
        Clause(
            "Threshold of risk",
            "Keep the highest risk at 0.09 or below: one in eleven is above it, one in twelve not.",
            (PROSECUTOR, JOURNALIST),
            "Reasons for another threshold.",
        ),
        Clause(
            "Evaluation of the risk",
            "Measure the risk of re-identification of what is published.",
            (BEFORE, PROSECUTOR, ON_AVERAGE),
            "Risk of the clinical reports that the guidance is about; this is a table.",
        ),
        Clause(
            "Data utility",
            "Keep what is useful, and say what was lost.",
            (LOSS, METHOD),
            "Which analyses stay possible.",
        ),
        Clause(
            "Anonymisation report",
            "Document methods, reasons and results.",
            (LIMITS, CHECKS, VERDICT),
            "The report on the Agency's own template.",
        ),
    ),
)
HIPAA = Document(
    "HIPAA Privacy Rule",
    "Expert determination",
    "45 CFR 164.514(b)(1)",
    "hipaa",
    (
        Clause(
            "164.514(b)(1)",
            "A person with knowledge of accepted statistical methods decides.",
            (OWNER, APPROVAL, STATE),
            "Who that person is, and the determination itself.",
        ),
        Clause(
            "164.514(b)(1)(i)",
            "A very small risk that a recipient identifies somebody, with what else is available.",
            (PROSECUTOR, ON_AVERAGE, MARKETER, LINKED),
            "What is very small, since the rule names no number; and what else is available.",
        ),
        Clause(
            "164.514(b)(1)(ii)",
            "Document the methods and results of the analysis.",
            (METHOD, LIMITS, CHECKS, VERDICT),
            "The expert's own reasons.",
        ),
    ),
)
WP29 = Document(
    "WP29 opinion 05/2014",
    "Article 29 Working Party on anonymisation techniques",
    "WP216, 10 April 2014",
    "wp29",
    (
        Clause(
            "2.2.2 Singling out",
            "Nobody can be isolated in the table.",
            (K, UNIQUE, PROSECUTOR),
            "Columns that an outsider knows and the release does not name.",
        ),
        Clause(
            "2.2.2 Linkability",
            "No two records of a person can be linked, here or across tables.",
            (LINKED, RANKS, MARKETER),
            "Tables of others; k-anonymity by itself leaves this open (section 5.2).",
        ),
        Clause(
            "2.2.2 Inference",
            "Nothing can be deduced about a person.",
            (DIVERSE, CLOSE, NEAR),
            "What follows from general knowledge; k-anonymity by itself leaves this open.",
        ),
        Clause(
            "5.1 Conclusions",
            "Weigh the residual risk again, as time and other data go on.",
            (EARLIER,),
            "New sources and means of attackers since this run.",
        ),
        Clause(
            "5.2 Recommendations",
            "Choose techniques and parameters case by case.",
            (CONTEXT, METHOD, LIMITS),
            "Whether thresholds fit this case; the opinion names none.",
        ),
    ),
)
NIST = Document(
    "NIST SP 800-188",
    "De-Identifying Government Datasets: Techniques and Governance",
    "September 2023",
    "nist800188",
    (
        Clause(
            "Goals and risks",
            "Evaluate what de-identification is for, and what a release could do.",
            (PURPOSE, CONTEXT, THREATS),
            "Harm to people and to the agency.",
        ),
        Clause(
            "Data-sharing model",
            "Choose how data are shared: published, queried, or in an enclave.",
            (KIND, RECIPIENTS),
            "Other models that were weighed, synthetic data and formal privacy among them.",
        ),
        Clause(
            "Disclosure Review Board",
            "Have a board oversee the process.",
            (OWNER, APPROVAL, STATE),
            "The board and its minutes.",
        ),
        Clause(
            "Standard with measurable performance levels",
            "Hold the release to levels that can be measured.",
            (LIMITS, CHECKS, VERDICT),
            "Why these levels; the publication names none.",
        ),
        Clause(
            "Identifiers and quasi-identifiers",
            "Remove the first and transform the second.",
            (DROPPED, QUASI, K),
            "Columns that nobody thought of.",
        ),
        Clause(
            "Re-identification studies",
            "Try to re-identify people, to gauge the risk.",
            (LINKED, PROSECUTOR, MARKETER),
            "Studies by others, with sources of their own.",
        ),
    ),
)
DOCUMENTS = (ISO, EMA, HIPAA, WP29, NIST)
