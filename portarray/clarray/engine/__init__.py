"""The engine: a module for each way to loop over memory."""
