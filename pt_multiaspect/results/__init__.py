"""Results that measures return: explanations and their comparison, which `pt_multiaspect.explanation` computes."""
