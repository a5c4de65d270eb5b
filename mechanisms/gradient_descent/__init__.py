"""Private convex optimisation: projected gradient descent with noise.

Read `gradient_descent`, then `vector_sum` (the noise), then `noisy_gradient_descent`. `losses`,
`projections` and the `*_cases` are what they are run on.
"""
