"""The stages of a release whose rows are spread over the executors of an engine.

Each stage leaves the artefact that it leaves on one machine, but for the rows: these lie beside, as
folders that the engine reads. A block is done by the code of one machine, on an executor.
"""
