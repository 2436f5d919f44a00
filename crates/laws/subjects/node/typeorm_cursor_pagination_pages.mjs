// typeorm-cursor-pagination: a keyset over TypeORM, oldest first, its rows in SQLite in memory, on a free port that it prints.
import "reflect-metadata";
import { createServer } from "node:http";
import { DataSource, EntitySchema } from "typeorm";
import { buildPaginator } from "typeorm-cursor-pagination";

class Item {}
const columns = { id: { type: Number, primary: true, generated: true }, name: { type: String }, created: { type: Date } };
for (const [name, { type }] of Object.entries(columns)) Reflect.defineMetadata("design:type", type, Item.prototype, name);
const schema = new EntitySchema({ name: "Item", target: Item, columns });
const source = await new DataSource({ type: "sqljs", entities: [schema], synchronize: true }).initialize();
const items = source.getRepository(Item);

async function answer(request, url, body) {
  const id = Number(url.pathname.split("/")[2]);
  if (request.method === "POST") {
    const { name, created } = JSON.parse(body);
    return [201, { id: (await items.save(Object.assign(new Item(), { name, created: new Date(created) }))).id }];
  }
  if (request.method === "PUT") return [200, await items.update(id, JSON.parse(body))];
  if (request.method === "DELETE") return [200, await items.delete(id)];
  const afterCursor = url.searchParams.get("cursor") ?? undefined;
  const query = { limit: Number(url.searchParams.get("limit")), order: "ASC", afterCursor };
  const pages = buildPaginator({ entity: Item, paginationKeys: ["created", "id"], query });
  const { data, cursor } = await pages.paginate(items.createQueryBuilder("item"));
  return [200, { data, next: cursor.afterCursor }];
}

const server = createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  // An exception is 500, as with express.
  const failed = (error) => [500, { error: String(error) }];
  const [status, reply] = await answer(request, new URL(request.url, "http://127.0.0.1"), body).catch(failed);
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(reply));
});
server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ PORT: server.address().port })));
