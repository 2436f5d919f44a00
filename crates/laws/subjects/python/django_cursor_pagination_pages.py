"""django-cursor-pagination: CursorPaginator, oldest first."""

import django_app
from cursor_pagination import CursorPaginator, InvalidCursor
from django.http import JsonResponse
from django.urls import path


def items(request):
    if request.method == "POST":
        return django_app.create(request)
    pages = CursorPaginator(django_app.Item.objects.all(), ordering=("created", "id"))
    try:
        page = pages.page(first=int(request.GET["limit"]), after=request.GET.get("cursor"))
    except InvalidCursor as invalid:
        return JsonResponse({"error": str(invalid)}, status=400)
    next_cursor = pages.cursor(page[-1]) if page.has_next else None
    return JsonResponse({"data": [{"id": row.id, "name": row.name} for row in page], "next": next_cursor})


urlpatterns = [path("items", items), path("items/<int:id>", django_app.change_or_delete)]
django_app.serve()
