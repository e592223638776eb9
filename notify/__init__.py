"""Notify: a notification pipeline on RabbitMQ quorum queues."""
