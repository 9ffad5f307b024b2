"""A server of one model, for the clients of the chat-completions interface.

``python -m examples.llama serve`` runs it. ``requests.py`` reads and checks requests,
``answers.py`` formats what is sent, and ``metrics.py`` what is measured. ``scheduler.py`` puts the
tokens of several requests into one step of the model, and ``application.py`` is the HTTP around
them.
"""
