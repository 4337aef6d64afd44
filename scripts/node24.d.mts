// The part of node24.mjs that TypeScript may use. node24.mjs is plain JavaScript because it runs before TypeScript
// can run.

export const NODE_FLAGS: readonly string[]
export const NODE_ENVIRONMENT: Readonly<Record<string, string>>
export const root: string
