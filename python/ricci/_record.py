"""Named tuples of programs."""


class Record(tuple):
    """A tuple whose items have names: r.x, r["x"], r[0]. An item may have none."""

    def __new__(cls, items, fields):
        self = tuple.__new__(cls, items)
        self.__dict__["_fields"] = tuple(fields)
        return self

    def _asdict(self):
        return {name: item for name, item in zip(self._fields, self) if name is not None}

    def __getattr__(self, name):
        fields = self.__dict__.get("_fields", ())
        if name in fields:
            return self[fields.index(name)]
        raise AttributeError(f"the record has no field {name!r}: it has "
                             f"{', '.join(str(f) for f in fields if f)}")

    def __getitem__(self, key):
        if isinstance(key, str):
            if key in self._fields:
                return tuple.__getitem__(self, self._fields.index(key))
            raise KeyError(key)
        return tuple.__getitem__(self, key)

    def __setattr__(self, name, value):
        raise AttributeError("a record does not change")

    def __dir__(self):
        return [*super().__dir__(), *(f for f in self._fields if f)]

    def __repr__(self):
        return "(" + ", ".join(repr(x) if f is None else f"{f}={x!r}"
                               for f, x in zip(self._fields, self)) + ")"

    def __reduce__(self):
        return Record, (tuple(self), self._fields)
