import { Arg, Args, Ctx, Extensions, FieldResolver, Resolver, Root } from 'type-graphql';
import { testUrl } from '../../../domain/crawlers/config/test-url.operations.ts';
import {
  checkVerification,
  getVerification,
  startVerification,
} from '../../../domain/crawlers/verification/verification.operations.ts';
import type { GraphqlContext } from '../../context.ts';
import { inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { Crawler, type CrawlerParent } from './crawlers.types.ts';

const CrawlerVerification = outputOf(getVerification);
const UrlTest = outputOf(testUrl);
const StartVerificationInput = inputOf(startVerification);
const CheckVerificationInput = inputOf(checkVerification);

/** Whether a crawler's domain is proved, and what it would take. */
@Resolver(() => Crawler)
export class CrawlerVerificationResolver {
  @Extensions({ cost: 5 })
  @FieldResolver(() => CrawlerVerification, { nullable: true, description: getVerification.summary })
  async verification(
    @Root() { at }: CrawlerParent,
    @Arg('host', () => String, { nullable: true }) host: string | null,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(getVerification, { ...at, host });
  }

  @Extensions({ cost: 20 })
  @FieldResolver(() => UrlTest, { nullable: true, description: testUrl.summary })
  async test_url(@Root() { at }: CrawlerParent, @Arg('url', () => String) url: string, @Ctx() context: GraphqlContext) {
    return context.run(testUrl, { ...at, url });
  }

  @Command(() => CrawlerVerification, startVerification)
  startVerification(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => StartVerificationInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(startVerification, { ...at, ...input });
  }

  @Command(() => CrawlerVerification, checkVerification)
  checkVerification(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => CheckVerificationInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(checkVerification, { ...at, ...input });
  }
}
