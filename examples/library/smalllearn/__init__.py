"""Robust statistics, nearest neighbours, Gaussian processes and k-means, on arrays of any library.

Every function asks its arguments for their namespace, creates arrays on their device, and uses the
names of the Array API standard alone.
"""

from smalllearn.clustering import kmeans
from smalllearn.gaussian_process import GaussianProcess
from smalllearn.neighbors import classify, kneighbors, squared_distances
from smalllearn.robust import huber_location, mad, median, trimmed_mean

__all__ = [
    "GaussianProcess",
    "classify",
    "huber_location",
    "kmeans",
    "kneighbors",
    "mad",
    "median",
    "squared_distances",
    "trimmed_mean",
]
