"""Private convex optimisation: projected gradient descent with noise.

Read `gradient_descent`, then `vector_sum` (the noise), then `noisy_gradient_descent`.
`gradient_cases` feeds the theorems and the broken twins.
"""
