import { Arg, Args, type ClassType, Ctx, FieldResolver, Resolver, Root } from 'type-graphql';
import {
  getWebhookDelivery,
  listWebhookDeliveries,
  redeliver,
} from '../../../domain/workflows/deliveries/deliveries.operations.ts';
import {
  revealTriggerSecret,
  revokeTriggerSecret,
  rotateTriggerSecret,
} from '../../../domain/workflows/triggers/trigger-secret.operations.ts';
import {
  createTrigger,
  deleteTrigger,
  getTrigger,
  listTriggers,
  updateTrigger,
} from '../../../domain/workflows/triggers/triggers.operations.ts';
import { mapConnection } from '../../connection.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { argsOf, connectionOf, inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { type Placed, ProjectArgs } from '../places.ts';
import { Workflow, type WorkflowParent } from './workflows.types.ts';

const WorkflowTrigger: ClassType = outputOf(getTrigger);
const WorkflowTriggerConnection = connectionOf(listTriggers);
const ListTriggersArgs = argsOf(listTriggers, ['workflow']);
const WorkflowDelivery = outputOf(getWebhookDelivery);
const WorkflowDeliveryConnection = connectionOf(listWebhookDeliveries);
const RevealedTriggerSecret = outputOf(revealTriggerSecret);
const RotatedTrigger = outputOf(rotateTriggerSecret);
const RedeliveredExecution = outputOf(redeliver);
const DeliveriesArgs = argsOf(listWebhookDeliveries, ['workflow', 'trigger']);
const CreateTriggerInput = inputOf(createTrigger);
const UpdateTriggerInput = inputOf(updateTrigger);
const DeleteTriggerInput = inputOf(deleteTrigger);
const RevealTriggerSecretInput = inputOf(revealTriggerSecret);
const RotateTriggerSecretInput = inputOf(rotateTriggerSecret);
const RevokeTriggerSecretInput = inputOf(revokeTriggerSecret);
const RedeliverInput = inputOf(redeliver);

type Names = ProjectArgs & { workflow: string; trigger: string };
type TriggerParent = Placed<Names>;

const placed = <Record extends { id: string }>(at: ProjectArgs & { workflow: string }, record: Record) => ({
  ...record,
  at: { organization: at.organization, project: at.project, workflow: at.workflow, trigger: record.id },
});

type Named = { workflow: string };

/** What starts a workflow. */
@Resolver(() => Workflow)
export class TriggersResolver {
  @FieldResolver(() => WorkflowTriggerConnection, { nullable: true, description: listTriggers.summary })
  async triggers(
    @Root() { at, id }: WorkflowParent,
    @Args(() => ListTriggersArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    const names = { ...at, workflow: id };
    return mapConnection(await context.list(listTriggers, { ...names, ...args }), (record) => placed(names, record));
  }

  @FieldResolver(() => WorkflowTrigger, { nullable: true, description: getTrigger.summary })
  async trigger(
    @Root() { at, id: workflow }: WorkflowParent,
    @Arg('id', () => String) id: string,
    @Ctx() context: GraphqlContext,
  ) {
    const names = { ...at, workflow };
    return placed(names, await context.run(getTrigger, { ...names, trigger: id }));
  }

  @Command(() => WorkflowTrigger, createTrigger)
  async createTrigger(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => CreateTriggerInput) input: Named,
    @Ctx() context: GraphqlContext,
  ) {
    return placed({ ...at, workflow: input.workflow }, await context.run(createTrigger, { ...at, ...input }));
  }

  @Command(() => WorkflowTrigger, updateTrigger)
  async updateTrigger(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => UpdateTriggerInput) input: Named,
    @Ctx() context: GraphqlContext,
  ) {
    return placed({ ...at, workflow: input.workflow }, await context.run(updateTrigger, { ...at, ...input }));
  }

  @Command(() => Boolean, deleteTrigger)
  async deleteTrigger(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => DeleteTriggerInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    await context.run(deleteTrigger, { ...at, ...input });
    return true;
  }

  @Command(() => RevealedTriggerSecret, revealTriggerSecret)
  revealTriggerSecret(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => RevealTriggerSecretInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(revealTriggerSecret, { ...at, ...input });
  }

  @Command(() => RotatedTrigger, rotateTriggerSecret)
  rotateTriggerSecret(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => RotateTriggerSecretInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(rotateTriggerSecret, { ...at, ...input });
  }

  @Command(() => WorkflowTrigger, revokeTriggerSecret)
  async revokeTriggerSecret(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => RevokeTriggerSecretInput) input: Named,
    @Ctx() context: GraphqlContext,
  ) {
    return placed({ ...at, workflow: input.workflow }, await context.run(revokeTriggerSecret, { ...at, ...input }));
  }
}

/** The calls of a webhook. */
@Resolver(() => WorkflowTrigger)
export class WorkflowDeliveriesResolver {
  @FieldResolver(() => WorkflowDeliveryConnection, { nullable: true, description: listWebhookDeliveries.summary })
  deliveries(
    @Root() { at }: TriggerParent,
    @Args(() => DeliveriesArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    return context.list(listWebhookDeliveries, { ...at, ...args });
  }

  @FieldResolver(() => WorkflowDelivery, { nullable: true, description: getWebhookDelivery.summary })
  delivery(@Root() { at }: TriggerParent, @Arg('id', () => String) id: string, @Ctx() context: GraphqlContext) {
    return context.run(getWebhookDelivery, { ...at, delivery: id });
  }

  @Command(() => RedeliveredExecution, redeliver)
  redeliver(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => RedeliverInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(redeliver, { ...at, ...input });
  }
}
