"""Beyond one memory and one machine: the passes of a calibration over chunks of rows.

:mod:`~prism_audio.out_of_core.chunks` runs the passes over chunks one after the other,
:mod:`~prism_audio.out_of_core.ray_chunks` runs them as tasks of a cluster, and
:mod:`~prism_audio.out_of_core.ray_embed` embeds recordings on one. Chunks of files are read by
:mod:`~prism_audio.io.matrices`, those of stores by :mod:`~prism_audio.store.rows`.
"""
