// The API schemas of the agent tools: whether they are on, which tools there are, and the last calls.

import { z } from 'zod'
import { timeShape } from './time.ts'

export const agentToolShape = z
  .object({
    name: z.string(),
    title: z.string(),
    description: z.string(),
    changes: z.boolean().meta({ description: 'True if the tool changes something, after a preview.' }),
  })
  .meta({ id: 'AgentTool' })

export const agentCallShape = z
  .object({
    calledAt: timeShape,
    name: z
      .string()
      .meta({ description: 'The tool, the address of the resource, or the prompt, as the client sent it.' }),
    client: z.string().nullable().meta({ description: 'The name and version that the client tells of itself.' }),
    from: z.string().meta({ description: "The client's address." }),
    what: z.string().meta({ description: 'The arguments as JSON, without contents of records.' }),
    outcome: z.string().meta({ description: '`ok`, or the code of the error.' }),
    bytes: z.int().meta({ description: 'The size of the answer.' }),
    tookMs: z.int(),
  })
  .meta({ id: 'AgentCall' })

export type AgentCall = z.infer<typeof agentCallShape>

export const agentToolsShape = z
  .object({
    isOn: z.boolean(),
    path: z.string().meta({ description: 'The path of the endpoint on this HTTP port.' }),
    needsToken: z.boolean().meta({ description: 'False if admin security is off: then the token is ignored.' }),
    hasChanges: z.boolean().meta({ description: 'Whether the tools for changes exist.' }),
    hasMessages: z.boolean().meta({ description: 'Whether the tools that show records exist.' }),
    tools: z.array(agentToolShape).meta({ description: 'The tools that agents see; empty if the endpoint is off.' }),
    calls: z.array(agentCallShape).meta({
      description: 'The last hundred calls that this broker answered, the newest first.',
    }),
  })
  .meta({ id: 'AgentTools' })

export type AgentTools = z.infer<typeof agentToolsShape>
