from portarray._array cimport base
from portarray._array.base cimport ArrayBase, DispatchTable

cdef object array_type
