// As much of oidc-provider's face as the tests here use: the package has no declarations of its own.

declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>)
    /** Answers requests of node:http. */
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>
  }

  export { Provider as default }
}
