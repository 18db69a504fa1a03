"""The arrays of a chart in one store, and the columns that its rows use."""

import numpy as np
import pytest

from mbdae.charts import store

from .chart_cases import PARAMETRISATIONS, centred, every_case

both = pytest.mark.parametrize("parametrisation", PARAMETRISATIONS)


@both
@pytest.mark.parametrize("name", ["all elements", "double pendulum", "top"])
def test_the_parts_of_a_store_fill_it_without_overlap(name, parametrisation):
    chart, _ = centred(name, parametrisation)
    n, model, array = chart.n, chart.system.model, np.zeros_like(chart.store)
    views = [store.chart(n, model, array), *store.bases(n, model, array), *store.scratch(n, model, array), *store.path(n, model, array),
             store.spans(n, model, array), array[-1:]]  # the last entry tells whether the basis is that of the factors
    for view in views:
        view += 1.0
    np.testing.assert_array_equal(array, 1.0)
    s = chart.system
    sizes = [s.nv, s.nc, s.nc, s.nq, n], [s.nq, s.nq, s.nc, n, n]
    assert [[len(x) for x in part(n, model, array)] for part in (store.scratch, store.path)] == list(sizes)


@every_case
def test_spans_are_the_columns_that_are_used(name):
    """Of a row that selects a coordinate: it alone, or the quaternion that it is part of, with the three velocities of that."""
    chart, _ = centred(name, "partition")
    s = chart.system
    starts = [] if s.of_functions else s.quaternions["q"].tolist()
    for row, span in zip(chart.P, store.spans(chart.n, s.model, chart.store)):
        k = int(np.flatnonzero(row)[0])
        first = next((x for x in starts if x <= k < x + 4), None)
        before = sum(x < k for x in starts) - (first is not None and first < k)
        expected = (k, k + 1, k - before, k - before + 1) if first is None else (first, first + 4, first - before, first - before + 3)
        if s.of_functions and not s.identity_map:
            expected = (*expected[:2], 0, s.nv)
        assert tuple(span[:4]) == expected
