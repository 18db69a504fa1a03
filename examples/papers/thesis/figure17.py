"""Figure 17: height of the chassis of the stiff vehicle over five seconds.

The front wheels hit the half cylinder first, then the rear ones, and the height settles after four seconds. It is that of the centre of
mass and depends on the data: the thesis has 0.71 m, with others. The vehicle starts above the road.
"""

import common_vehicle as common
import numpy as np

import mbdae
from mbdae import library
from mbdae.cli.scripts import output_folder
from mbdae.pictures.curves import save
from mbdae.pictures.figures import COLOURS, GREY, new_figure, style
from mbdae.studies import write_csv

PUBLISHED = {"front wheels": 0.5, "rear wheels": 1.2}  # s, when they hit the bump
SETTLED = 0.71  # m, published
LIFTED = 5e-3  # m above the height at rest at which a wheel counts as being on the bump
SETTLING = 0.3  # s from the start above the road
CENTRES = {"front wheels": "wheel_height_front_left", "rear wheels": "wheel_height_rear_left"}


def study(t_end=5.0, tolerance=1e-6, points=1001):
    """Time, height of the chassis, heights of a front and a rear wheel, as columns by name."""
    known = common.system()
    s = mbdae.solve(known, common.METHODS["ForRosen, filtered"], (0.0, t_end), formulation=common.FORM, rtol=tolerance,
                           atol=tolerance, t_eval=np.linspace(0.0, t_end, points))
    if not s.success:
        raise RuntimeError(s.message)
    observe = library.entry("hmmwv").observe
    values = [observe(known, *row) for row in zip(s.t, s.q, s.v, s.a, s.lam)]
    return {"t": s.t, "height": s.q[:, common.HEIGHT]} | {name: np.array([v[key] for v in values]) for name, key in CENTRES.items()}


def arrivals(columns):
    """When the wheels are lifted for the first time after the vehicle has settled, by axle; `None` if they are not."""
    t, found = columns["t"], {}
    for name in CENTRES:
        height, settled = columns[name], t > SETTLING
        high = t[settled & (height > height[-1] + LIFTED)]
        found[name] = float(high[0]) if len(high) else None
    return found


def draw(columns, path):
    """The figure."""
    with style():
        figure = new_figure(6.4, 3.4)
        axis = figure.subplots()
        axis.plot(columns["t"], columns["height"], color=COLOURS[0], label="centre of mass of the chassis")
        axis.axhline(SETTLED, color=COLOURS[1], linestyle=(0, (4, 2)), linewidth=1.0, label=f"thesis, after four seconds: {SETTLED:g} m")
        for k, t in enumerate(PUBLISHED.values()):
            axis.axvline(t, color=GREY, linestyle=(0, (1, 2)), linewidth=1.0, label="" if k else "thesis: front, rear wheels at the bump")
        axis.set(title="HMMWV14, stiff, on public data: height of the chassis", xlabel="time  [s]", ylabel="height  [m]")
        axis.margins(x=0.0)
        axis.legend()
        save(figure, path)


def main(output, **settings):
    """Run, draw; returns the line for the summary."""
    print(f"  {common.STAND_IN}")
    columns = study(**settings)
    draw(columns, output / "figure17.png")
    write_csv(output / "figure17.csv", [dict(zip(columns, row)) for row in zip(*(c.tolist() for c in columns.values()))])
    write_csv(output / "figure17_numbers.csv", [
        *({"what": f"{name} at the bump [s]", "ours": t, "published": PUBLISHED[name]} for name, t in arrivals(columns).items()),
        {"what": "height of the chassis at the end [m]", "ours": float(columns["height"][-1]), "published": SETTLED}])
    told = ", ".join(f"{name} {f'{t:.2f}' if t else '-'} s (published {PUBLISHED[name]:g})" for name, t in arrivals(columns).items())
    return f"on the bump: {told}; height at {columns['t'][-1]:g} s {columns['height'][-1]:.3f} m (published {SETTLED:g})"


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
