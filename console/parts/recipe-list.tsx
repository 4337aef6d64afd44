// A task as commands, one for each tool that can do it, with the files that a tool needs first.

import { useCommandWays } from '../shell/command-access.ts'
import { commandsFor, type Recipe, type Task, type Tool } from '../text/commands.ts'
import { ClientNeeds } from './client-needs.tsx'
import { Command } from './copy.tsx'

interface RecipesProps {
  readonly task: Task
  /** Only these tools. */
  readonly tools?: readonly Tool[]
}

/** The others speak to the admin API. */
const KAFKA_CLIENTS: readonly Tool[] = ['kcat', "Kafka's tools"]

export function RecipeList({ task, tools }: RecipesProps) {
  const [way] = useCommandWays() ?? []
  if (way === undefined) return null
  const recipes = commandsFor(task, way.access).filter(({ tool }) => tools === undefined || tools.includes(tool))
  return (
    <div className="w-full min-w-0">
      {recipes.some(({ tool }) => KAFKA_CLIENTS.includes(tool)) && <ClientNeeds way={way} />}
      {recipes.map(recipe => (
        <RecipeBlock key={recipe.tool} recipe={recipe} />
      ))}
    </div>
  )
}

function RecipeBlock({ recipe: { tool, command, reason, before } }: { readonly recipe: Recipe }) {
  if (command === null)
    return (
      <p className="my-2 text-muted">
        {tool}: {reason}
      </p>
    )
  return (
    <>
      {before.map(step =>
        'file' in step ? (
          <Command key={step.file.name} label={`${tool}: the file ${step.file.name}`} text={step.file.content} />
        ) : (
          <Command key={step.command} label={`${tool}: once before`} text={step.command} />
        ),
      )}
      <Command label={tool} text={command} />
    </>
  )
}
