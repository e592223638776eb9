"""Publishing and declaring, on a real RabbitMQ."""
