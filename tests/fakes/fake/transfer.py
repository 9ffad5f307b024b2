from fake.devices import LIBRARY

globals().update(LIBRARY.transfer())
