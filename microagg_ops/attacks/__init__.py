"""What an attacker gets from a release, beside what he would get of people who are not in it.

The three criteria of the Article 29 Working Party (opinion 05/2014), each as an attack that is
carried out: singling out, linkability and inference. Part of the entities are held out before the
rest is protected; the attack is tried on both. What it finds out of those held out follows from
what is true of people at large; only what it finds out beyond that is a risk of the release
(Giomi et al. 2023).
"""
