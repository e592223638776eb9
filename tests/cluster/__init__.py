"""Three nodes of RabbitMQ, where one or two of them go away."""
