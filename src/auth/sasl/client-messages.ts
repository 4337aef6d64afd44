// Apache Kafka's sentences for a client whose authentication failed. None of them tells whether the user exists.

/** The sentence for every failure that a mechanism does not explain (SaslServerAuthenticator). */
export function invalidCredentials(mechanism: string): string {
  return `Authentication failed during authentication due to invalid credentials with SASL mechanism ${mechanism}`
}

export const INVALID_PASSWORD = 'Authentication failed: Invalid username or password'

export const OTHER_AUTHZID =
  'Authentication failed: Client requested an authorization id that is different from username'
