"""Beyond one memory and one machine: the passes of a calibration over chunks of rows.

:mod:`~prism_audio.scale.tables` reads chunks of rows from files of any size,
:mod:`~prism_audio.scale.chunks` runs the passes over them one after the other,
:mod:`~prism_audio.scale.ray_chunks` runs them as tasks of a cluster.
"""
