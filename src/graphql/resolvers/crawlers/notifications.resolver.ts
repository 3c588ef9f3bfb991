import { Arg, Args, Ctx, FieldResolver, Int, Resolver, Root } from 'type-graphql';
import {
  getDelivery,
  listDeliveries,
  resendDelivery,
  revealWebhookSecret,
  rotateWebhookSecret,
  testWebhook,
} from '../../../domain/notifications/deliveries.operations.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { argsOf, connectionOf, inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { Crawler, type CrawlerParent } from './crawlers.types.ts';

const NotificationDelivery = outputOf(getDelivery);
const NotificationDeliveryConnection = connectionOf(listDeliveries);
const WebhookSecret = outputOf(revealWebhookSecret);
const DeliveriesArgs = argsOf(listDeliveries, ['crawler']);
const ResendDeliveryInput = inputOf(resendDelivery);
const TestWebhookInput = inputOf(testWebhook);
const RevealWebhookSecretInput = inputOf(revealWebhookSecret);
const RotateWebhookSecretInput = inputOf(rotateWebhookSecret);

/** Events for a crawler's webhook, and the secret that signs them. */
@Resolver(() => Crawler)
export class NotificationsResolver {
  @FieldResolver(() => NotificationDeliveryConnection, { nullable: true, description: listDeliveries.summary })
  deliveries(
    @Root() { at }: CrawlerParent,
    @Args(() => DeliveriesArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    return context.list(listDeliveries, { ...at, ...args });
  }

  @FieldResolver(() => NotificationDelivery, { nullable: true, description: getDelivery.summary })
  delivery(@Root() { at }: CrawlerParent, @Arg('id', () => Int) id: number, @Ctx() context: GraphqlContext) {
    return context.run(getDelivery, { ...at, delivery: id });
  }

  @Command(() => NotificationDelivery, resendDelivery)
  resendDelivery(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => ResendDeliveryInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(resendDelivery, { ...at, ...input });
  }

  @Command(() => NotificationDelivery, testWebhook)
  testWebhook(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => TestWebhookInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(testWebhook, { ...at, ...input });
  }

  @Command(() => WebhookSecret, revealWebhookSecret)
  revealWebhookSecret(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => RevealWebhookSecretInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(revealWebhookSecret, { ...at, ...input });
  }

  @Command(() => WebhookSecret, rotateWebhookSecret)
  rotateWebhookSecret(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => RotateWebhookSecretInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(rotateWebhookSecret, { ...at, ...input });
  }
}
