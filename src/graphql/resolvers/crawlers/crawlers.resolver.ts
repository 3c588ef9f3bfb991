import { Arg, Args, Ctx, FieldResolver, Resolver, Root } from 'type-graphql';
import {
  createCrawler,
  deleteCrawler,
  getCrawler,
  listCrawlers,
  updateCrawler,
} from '../../../domain/crawlers/config/crawlers.operations.ts';
import { mapConnection } from '../../connection.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { argsOf, inputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { Project, type ProjectParent } from '../projects.resolver.ts';
import { Crawler, CrawlerConnection, placedCrawler } from './crawlers.types.ts';

const ListCrawlersArgs = argsOf(listCrawlers);
const CreateCrawlerInput = inputOf(createCrawler);
const UpdateCrawlerInput = inputOf(updateCrawler);
const DeleteCrawlerInput = inputOf(deleteCrawler);

/** The crawlers of a project. */
@Resolver(() => Project)
export class CrawlersResolver {
  @FieldResolver(() => CrawlerConnection, { nullable: true, description: listCrawlers.summary })
  async crawlers(
    @Root() { at }: ProjectParent,
    @Args(() => ListCrawlersArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    const page = await context.list(listCrawlers, { ...at, ...args });
    return mapConnection(page, (record) => placedCrawler(at, record));
  }

  @FieldResolver(() => Crawler, { nullable: true, description: getCrawler.summary })
  async crawler(
    @Root() { at }: ProjectParent,
    @Arg('crawler', () => String, { description: 'UUID of the crawler, or its number' }) crawler: string,
    @Ctx() context: GraphqlContext,
  ) {
    return placedCrawler(at, await context.run(getCrawler, { ...at, crawler }));
  }

  @Command(() => Crawler, createCrawler)
  async createCrawler(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => CreateCrawlerInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return placedCrawler(at, await context.run(createCrawler, { ...at, ...input }));
  }

  @Command(() => Crawler, updateCrawler)
  async updateCrawler(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => UpdateCrawlerInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return placedCrawler(at, await context.run(updateCrawler, { ...at, ...input }));
  }

  @Command(() => Boolean, deleteCrawler)
  async deleteCrawler(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => DeleteCrawlerInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    await context.run(deleteCrawler, { ...at, ...input });
    return true;
  }
}
