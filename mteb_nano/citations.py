"""Each BibTeX entry once."""

VIDORE_V3 = r"""
@article{loison2026vidorev3comprehensiveevaluation,
  archiveprefix = {arXiv},
  author = {António Loison and Quentin Macé and Antoine Edy and Victor Xing and Tom Balough and Gabriel Moreira and Bo Liu and Manuel Faysse and Céline Hudelot and Gautier Viaud},
  eprint = {2601.08620},
  primaryclass = {cs.AI},
  title = {ViDoRe V3: A Comprehensive Evaluation of Retrieval Augmented Generation in Complex Real-World Scenarios},
  url = {https://arxiv.org/abs/2601.08620},
  year = {2026},
}
"""  # noqa: E501

OCR_NOISE = r"""
@inproceedings{michail-etal-2025-cheap,
  address = {Vienna, Austria},
  author = {Michail, Andrianos and Opitz, Juri and Wang, Yining and Meister, Robin and Sennrich, Rico and Clematide, Simon},
  booktitle = {Findings of the Association for Computational Linguistics: ACL 2025},
  isbn = {979-8-89176-256-5},
  month = jul,
  pages = {11705--11716},
  publisher = {Association for Computational Linguistics},
  title = {Cheap Character Noise for {OCR}-Robust Multilingual Embeddings},
  url = {https://aclanthology.org/2025.findings-acl.609/},
  year = {2025},
}
"""  # noqa: E501

MLDR = r"""
@misc{chen2024bge,
  archiveprefix = {arXiv},
  author = {Jianlv Chen and Shitao Xiao and Peitian Zhang and Kun Luo and Defu Lian and Zheng Liu},
  eprint = {2402.03216},
  primaryclass = {cs.CL},
  title = {BGE M3-Embedding: Multi-Lingual, Multi-Functionality, Multi-Granularity Text Embeddings Through Self-Knowledge Distillation},
  year = {2024},
}
"""  # noqa: E501
