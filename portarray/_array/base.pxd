# What Cython has to know where portarray/_array/call.py is compiled: the memory of two Python
# classes, whose __slots__ CPython sorts by name, and how an array is made.

cdef extern from *:
    """
    typedef struct {
        PyObject_HEAD
        PyObject *array_type, *call_cache, *casts, *device, *dtype, *functions, *high,
            *inplace_functions, *kind, *known_type, *low, *namespace, *native,
            *options_call_cache, *promotions, *scalar_call_cache, *scalars, *tables;
    } PortarrayTable;
    typedef struct { PyObject_HEAD PortarrayTable *_dispatch; PyObject *_native; } PortarrayArray;

    static PyObject *portarray_alloc(PyTypeObject *type, Py_ssize_t count) {
        PortarrayArray *out = (PortarrayArray *)PyType_GenericAlloc(type, count);
        if (out) {
            out->_dispatch = (PortarrayTable *)Py_NewRef(Py_None);
            out->_native = Py_NewRef(Py_None);
        }
        return (PyObject *)out;
    }

    static PyObject *portarray_new(void) {
        static PyTypeObject *array_type = NULL;
        if (!array_type) {
            PyObject *base = PyImport_ImportModule("portarray._array.base");
            if (base) array_type = (PyTypeObject *)PyObject_GetAttrString(base, "array_type");
            Py_XDECREF(base);
            if (!array_type) return NULL;
            array_type->tp_alloc = portarray_alloc; /* object.__new__ leaves no NULL either */
        }
        return portarray_alloc(array_type, 0);
    }
    """
    ctypedef class portarray._array.dispatch.DispatchTable [object PortarrayTable, check_size error]:
        cdef object device, high, low
        cdef dict call_cache, options_call_cache, promotions, scalar_call_cache
        cdef frozenset scalars
    ctypedef class portarray._array.base.ArrayBase [object PortarrayArray, check_size ignore]:
        cdef DispatchTable _dispatch
        cdef object _native
    ArrayBase new_uninitialized "portarray_new"()
