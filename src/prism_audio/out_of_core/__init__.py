"""Beyond one memory and one machine: the passes of a calibration over chunks of rows.

:mod:`~prism_audio.io.row_files` reads chunks of rows from files of any size,
:mod:`~prism_audio.out_of_core.chunks` runs the passes over them one after the other,
:mod:`~prism_audio.out_of_core.ray_chunks` runs them as tasks of a cluster.
"""
