"""Templates: content from files, filled with values that stay values."""

from notify.templates.catalogue import Templates, check_templates
from notify.templates.template import Rendered, Template
from notify.templates.values import Variable

__all__ = ["Rendered", "Template", "Templates", "Variable", "check_templates"]
