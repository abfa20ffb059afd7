"""Breaks right sentences the way learners do, with the edits that mend them: the training data of the corrector.

    corpus -> generators -> corruption -> maker: draw, surface -> Example

| step | modules |
|---|---|
| right sentences | corpus (tagged ones, read from files), generators/ (made of these, or of the templates in tables/) |
| what of a sentence can be broken, for certain | corruption/, which asks view (words and subjects of one sentence) and lexicon (forms and closed lists) |
| generated sentences with their mistakes | written/ |
| one example | maker, which asks sampling (which reason, verb, sentence), edits, longer (joined sentences), surface (marks, capitals, quotes), noise (slips outside the verbs) |
| on the whole corpus | vocabulary (the tokenizer) |
"""  # noqa: E501 - a table
