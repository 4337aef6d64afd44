// What TypeScript may use of node24.mjs, which is plain JavaScript because it runs before TypeScript can.

export const NODE_FLAGS: readonly string[]
export const NODE_ENVIRONMENT: Readonly<Record<string, string>>
