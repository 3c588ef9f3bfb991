import { Migration } from '@mikro-orm/migrations';

/** Who takes a run over has its cookies: sites behind a consent or a session answer as they did before. */
export class CrawlCookies extends Migration {
  override name = '20261203-crawl-cookies';

  override up(): void {
    this.addSql('alter table crawler_run add column cookies text');
  }
}
