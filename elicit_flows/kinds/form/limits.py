"""How big a form may be (T69). A page at all of these limits can still be sent and read as one form."""

MAX_FIELDS = 50
MAX_OPTIONS = 200  # of one question
MAX_ALL_OPTIONS = 600  # of all; Django reads at most 1,000 values of one form
MAX_KEY = 100
MAX_LABEL = 300
MAX_HELP = 1000
MAX_VALUE = 200  # of an option
MAX_FAULTS = 20  # reported in one answer

MAX_LINE = 2000  # characters of an answer if the question sets no bound, or has a pattern
MAX_TEXT = 10_000  # characters of an answer, whatever the question says
MAX_REASON = 500  # characters of why a question is skipped
LONG = 200  # beyond this a text gets a larger control
MAX_NUMBER = 2**63 - 1  # what ACP can carry
