// The first minute in a terminal: the commands of each tool, with the advertised address and the security of a
// listener.

import { useState } from 'react'
import { ClientNeeds } from '../../parts/client-needs.tsx'
import { Command } from '../../parts/copy.tsx'
import { SelectField } from '../../parts/field.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Skeleton } from '../../parts/states.tsx'
import { useCommandWays } from '../../shell/command-access.ts'
import { useMay } from '../../shell/session.tsx'
import { commandsFor, type Step as Preparation, type Recipe, type Task, type Tool } from '../../text/commands.ts'
import { Step } from './step.tsx'

const TOOLS = ['ketch', 'kcat', "Kafka's tools"] as const satisfies readonly Tool[]

/** `ketch` shows records as they come; the clients of Kafka first show those that are there. */
const watchOf = (tool: Tool, topic: string): Task =>
  tool === 'ketch' ? { do: 'consume', topic } : { do: 'consume', topic, at: 'earliest' }

const textOf = (step: Preparation) => ('file' in step ? step.file.content : step.command)

interface TerminalStepsProps {
  readonly topic: string
  /** True if the broker has the topic: the command that creates it would be refused. */
  readonly isThere: boolean
  readonly value: string
}

export function TerminalSteps({ topic, isThere, value }: TerminalStepsProps) {
  const ways = useCommandWays()
  // A VIEWER may not create topics through the API, which `ketch` uses.
  const mayCreate = useMay('create topic')
  const tools = TOOLS.filter(tool => tool !== 'ketch' || mayCreate)
  const [chosenTool, setTool] = useState<(typeof TOOLS)[number]>()
  const [chosenWay, setWay] = useState<string>()
  const tool = chosenTool ?? tools[0]!
  if (ways === null) return <Skeleton rows={8} />

  const way = ways.find(({ name }) => name === chosenWay) ?? ways[0]
  if (way === undefined)
    return <p className="text-muted">This cluster has no listener for Kafka clients (svc.broker.enabled is false).</p>
  const { access } = way
  const recipeOf = (task: Task): Recipe | undefined => {
    const recipes = commandsFor(task, access)
    // kcat creates no topics, so that another tool does it.
    return recipes.find(each => each.tool === tool) ?? recipes.find(each => tools.some(other => other === each.tool))
  }
  const create = isThere ? undefined : recipeOf({ do: 'create-topic', topic })
  const watch = recipeOf(watchOf(tool, topic))
  const produce = recipeOf({ do: 'produce', topic, value })
  const before = new Map([create, watch].flatMap(recipe => recipe?.before ?? []).map(step => [textOf(step), step]))
  return (
    <>
      <div className="mb-3">
        <Segments label="Tool" options={tools.map(each => [each, each] as const)} value={tool} onChange={setTool} />
      </div>
      {ways.length > 1 && (
        <SelectField
          label="Listener"
          value={way.name}
          onChange={setWay}
          options={ways.map(({ name, access: { security, bootstrap } }) => [
            name,
            `${name} · ${security} · ${bootstrap}`,
          ])}
        />
      )}
      {tool === 'ketch' && (
        <p className="text-muted">
          <code className="font-mono">ketch</code> is the file <code className="font-mono">./ketch</code> in the folder
          of the broker.{access.apiUser !== null && ' It asks for your password.'}
        </p>
      )}
      {tool !== 'ketch' && <ClientNeeds way={way} />}
      {Array.from(before, ([text, step]) => (
        <Command key={text} label={'file' in step ? `Write this to ${step.file.name}` : 'Run this first'} text={text} />
      ))}
      <ol className="mt-4">
        <Step number={1} title="Create a topic" state={isThere ? 'done' : 'later'}>
          {isThere && <p className="text-muted">The topic {topic} is there.</p>}
          {create !== undefined && create.tool !== tool && (
            <p className="text-muted">
              {tool} cannot create topics.{' '}
              {create.tool === 'ketch' ? <code className="font-mono">ketch</code> : create.tool} can:
            </p>
          )}
          <Line recipe={create} />
        </Step>
        <Step number={2} title="Watch it, and leave this running">
          <Line recipe={watch} />
        </Step>
        <Step number={3} title="Produce a record, in a second terminal">
          <Line recipe={produce} />
        </Step>
      </ol>
    </>
  )
}

function Line({ recipe }: { readonly recipe: Recipe | undefined }) {
  if (recipe === undefined) return null
  return recipe.command === null ? <p className="text-muted">{recipe.reason}</p> : <Command text={recipe.command} />
}
