"""What array-api-strict gets wrong, or refuses and portarray takes everywhere."""
