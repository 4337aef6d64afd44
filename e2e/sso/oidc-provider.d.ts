// The part of oidc-provider's API that the tests use. The package has no declarations.

declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>)
    /** Returns a request listener for node:http. */
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>
  }

  export { Provider as default }
}
